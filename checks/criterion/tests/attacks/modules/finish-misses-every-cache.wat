;; deadline/out_of_fuel | its verdict
;; Each address follows from what the last one held, so that nothing can be fetched ahead.
(memory 4000)
(func $finish (result i32)
  (local $x i32)
  (local $at i32)
  (loop
    (local.set $at (i32.and (local.get $x) (i32.const 0x07fffffc)))
    (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 1664525)) (i32.add (i32.const 1013904223) (i32.load offset=65536 (local.get $at)))))
    (i32.store offset=65536 (local.get $at) (local.get $x))
    (br 0))
  unreachable)
