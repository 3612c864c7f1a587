;; over_limit | its answer has more than 16 MiB
(memory 300)
(func $finish (result i32) (i32.store (i32.const 3096) (i32.const 65536)) (i32.store (i32.const 3100) (i32.const 1000000)) i32.const 2048)
