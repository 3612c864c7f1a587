;; other_contract | does not export
(component (instance $i) (export "fascicolo:criterion/criterion@0.1.0" (instance $i)))
