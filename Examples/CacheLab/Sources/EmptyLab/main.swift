import LatchkeyLab

// A section that does nothing: what is left is the lock, and what the lab adds to it.

Lab(
    Workload("nothing", value: 0) { _, _ in
    } write: { _, _ in
    }
).run()
