;; out_of_fuel | its verdict
(table $t 1 funcref)
(elem (i32.const 0) $leaf)
(type $none (func))
(func $leaf)
(func $finish (result i32)
  (loop (call_indirect (type $none) (i32.const 0)) (br 0))
  unreachable)
