;; other_contract | does not export
(component
  (core module $m (func (export "f")))
  (core instance $c (instantiate $m))
  (func $f (canon lift (core func $c "f")))
  (instance $i (export "describe" (func $f)) (export "init" (func $f)) (export "update" (func $f))
    (export "state" (func $f)) (export "merge" (func $f)) (export "finish" (func $f)))
  (export "fascicolo:criterion/criterion@0.1.0" (instance $i)))
