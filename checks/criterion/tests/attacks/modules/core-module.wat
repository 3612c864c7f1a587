;; not_a_component | core module
(module (func (export "run")))
