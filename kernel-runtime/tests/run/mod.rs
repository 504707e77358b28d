//! The registry's parts that need files.

mod tensor_file;
