;; cannot_answer | 1001 rows behind one figure; the limit is 1000
(func $finish (result i32) (i32.store (i32.const 3096) (i32.const 65536)) (i32.store (i32.const 3100) (i32.const 1001)) i32.const 2048)
