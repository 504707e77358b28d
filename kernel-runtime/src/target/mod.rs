//! Chip tables: what each TPU generation has and allows.
