"""Front ends: other formats and APIs as DML graphs."""
