;; The smallest cosine is at least the floor: a whole criterion in WebAssembly's text, laid out as the component model's
;; canonical ABI has the records of wasm-checks/wit/criterion.wit in memory.
(module
  (memory (export "memory") 2)
  (global $top (mut i32) (i32.const 65536)) ;; where the host's next argument goes
  (global $least (mut f64) (f64.const inf))
  (global $floor (mut f64) (f64.const nan))

  ;; description at 1024: version, meaning, one parameter, one measure
  (data (i32.const 1032) "\00\08\00\00\01\00\00\00" "\10\08\00\00\2b\00\00\00" "\00\05\00\00\01\00\00\00" "\80\05\00\00\01\00\00\00")
  ;; parameter at 1280: name, unit, meaning, no bounds
  (data (i32.const 1280) "\40\08\00\00\05\00\00\00" "\48\08\00\00\08\00\00\00" "\50\08\00\00\18\00\00\00")
  ;; measure at 1408: cosine
  (data (i32.const 1408) "\03")
  (data (i32.const 2048) "1")
  (data (i32.const 2064) "the smallest cosine is not below the floor.")
  (data (i32.const 2112) "floor")
  (data (i32.const 2120) "unitless")
  (data (i32.const 2128) "smallest cosine accepted")
  (data (i32.const 2160) "cosine.min")
  ;; state at 3072: eight bytes at 3080
  (data (i32.const 3072) "\08\0c\00\00\08\00\00\00")
  ;; answer at 3328: a good result with one figure, at 3584
  (data (i32.const 3344) "\00\0e\00\00\01\00\00\00")
  (data (i32.const 3584) "\70\08\00\00\0a\00\00\00")
  (data (i32.const 3600) "\48\08\00\00\08\00\00\00")

  (func (export "cabi_realloc") (param $old i32) (param $size i32) (param $align i32) (param $new i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 15)) (i32.const -16)))
    (global.set $top (i32.add (local.get $at) (local.get $new)))
    (block $enough
      (br_if $enough (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
      (drop (memory.grow (i32.add (i32.div_u (local.get $new) (i32.const 65536)) (i32.const 1)))))
    (local.get $at))

  (func $sees (param $value f64)
    (global.set $least (f64.min (global.get $least) (local.get $value))))

  (func (export "fascicolo:criterion/criterion@0.1.0#describe") (result i32) (i32.const 1024))

  ;; one argument, its value behind its name; nothing but zeros lies at 4096: a good result
  (func (export "fascicolo:criterion/criterion@0.1.0#init") (param $arguments i32) (param $count i32) (result i32)
    (global.set $floor (f64.load offset=8 (local.get $arguments)))
    (i32.const 4096))

  ;; rows, and the list of the lists of measures
  (func (export "fascicolo:criterion/criterion@0.1.0#update") (param $batch i32) (result i32)
    (local $row i32) (local $cosines i32)
    (local.set $cosines (i32.load (i32.load offset=56 (local.get $batch))))
    (block $done
      (loop $rows
        (br_if $done (i32.ge_u (local.get $row) (i32.load (local.get $batch))))
        (call $sees (f64.load (i32.add (local.get $cosines) (i32.shl (local.get $row) (i32.const 3)))))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $rows)))
    ;; the batch is not needed any more
    (global.set $top (i32.const 65536))
    (i32.const 4096))

  (func (export "fascicolo:criterion/criterion@0.1.0#state") (result i32)
    (f64.store (i32.const 3080) (global.get $least))
    (i32.const 3072))

  (func (export "fascicolo:criterion/criterion@0.1.0#merge") (param $state i32) (param $bytes i32) (result i32)
    (call $sees (f64.load (local.get $state)))
    (i32.const 4096))

  ;; judgement 0 is a pass, 1 a fail
  (func (export "fascicolo:criterion/criterion@0.1.0#finish") (result i32)
    (i32.store8 (i32.const 3332) (i32.eqz (f64.ge (global.get $least) (global.get $floor))))
    (f64.store (i32.const 3592) (global.get $least))
    (i32.const 3328)))
