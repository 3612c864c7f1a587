;; cannot_answer | a row behind its figure `f` has no number
(func $finish (result i32) (i32.store (i32.const 3096) (i32.const 65536)) (i32.store (i32.const 3100) (i32.const 1)) (f64.store (i32.const 65544) (f64.const nan)) i32.const 2048)
