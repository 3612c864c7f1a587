;; not_a_component | stack switching
(component (core module (type $f (func)) (type $c (cont $f))))
