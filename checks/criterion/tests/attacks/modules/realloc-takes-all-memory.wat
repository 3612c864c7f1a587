;; over_limit | MiB of memory asked for, 256 allowed
(func $realloc (param i32 i32 i32 i32) (result i32)
  (drop (memory.grow (i32.const 8000)))
  i32.const 8192)
