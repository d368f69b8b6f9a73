import LatchkeySync

// Enters a value again. Without the package's trait, a release build hangs here.
let count = Guarded<Int>(0)
count.write { value in
    value += count.exchange(1)
}
