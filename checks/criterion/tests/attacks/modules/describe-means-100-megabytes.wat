;; over_limit | its answer has more than 16 MiB
(memory 1700)
(func $describe (result i32)
  (i32.store (i32.const 1040) (i32.const 65536))
  (i32.store (i32.const 1044) (i32.const 100000000))
  i32.const 1024)
