//! Ahead-of-time compilation by libtpu in a worker process, and the reports read from it.
