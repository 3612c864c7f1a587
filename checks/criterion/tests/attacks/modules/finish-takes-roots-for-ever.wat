;; out_of_fuel | its verdict
(func $finish (result i32)
  (local $x f64)
  (loop
    (local.set $x (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.div (f64.const 1.7) (f64.add (local.get $x) (f64.const 1.1))))))))
    (br 0))
  unreachable)
