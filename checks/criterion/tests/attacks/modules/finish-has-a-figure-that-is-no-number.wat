;; cannot_answer | its figure `f` is NaN
(func $finish (result i32) (f64.store (i32.const 3080) (f64.const nan:0x123)) i32.const 2048)
