;; trapped | out of bounds
(table 1 funcref)
(elem (i32.const 70000) $describe)
