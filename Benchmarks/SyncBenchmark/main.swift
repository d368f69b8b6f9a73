import Glibc
import LatchkeyStrategies

// The rows of `make bench` that need no server: one line of JSON each, three minutes in all.

#if DEBUG
let isDebugBuild = true
#else
let isDebugBuild = false
#endif
precondition(!isDebugBuild, "A debug build measures nothing: use --configuration release.")

switch CommandLine.arguments.dropFirst().first {
case "--peers":
    servePeers()
    exit(0)
case "--memory":
    try measureMemory()
    exit(0)
case "--agreement":
    for comparison in agreementAboveNoLock() + agreementOfLab() {
        try measure(comparison, rounds: 30)
    }
    exit(0)
case "--conditions":
    for comparison in conditions() {
        try measure(comparison, rounds: 9)
    }
    exit(0)
case "--holders":
    for comparison in waitsForHolders() {
        try measure(comparison, rounds: 9)
    }
    exit(0)
case "--profiling":
    try measure(profiling(), rounds: 15)
    exit(0)
default: break
}

/// The strategies whose uncontended cost is measured: those named as arguments, or all.
let names = CommandLine.arguments.dropFirst()
let kinds = StrategyKind.allCases.filter { names.isEmpty || names.contains($0.rawValue) }

for kind in kinds {
    let isSlow = kind.traits.handsOffFairly && !kind.traits.spins
    let operations = kind == .actor ? 5_000 : isSlow ? 50_000 : 200_000
    try measure(meteringAdds(kind, operations: operations), rounds: 15)
    guard let reference = barePrimitive(of: kind, operations: operations) else {
        continue
    }
    try measure(
        Comparison(
            measure: "write, \(kind.rawValue) ÷ bare primitive",
            figure: .costRatio(atMost: 1.05),
            subject: kind.accept(UncontendedWrite(operations: operations)),
            reference: reference
        ),
        rounds: 15
    )
}

for (name, least, subject, reads) in [
    ("adaptive increments, 8 threads ÷ lock", 2.0, StrategyKind.adaptive, false),
    ("snapshot reads, 8 threads ÷ lock reads", 3.0, .snapshot, true),
] {
    let visitor = Contended(reads: reads)
    try measure(
        Comparison(
            measure: name,
            figure: .throughputRatio(atLeast: least),
            subject: subject.accept(visitor),
            reference: StrategyKind.lock.accept(visitor)
        ),
        rounds: 9
    )
}

try measure(profiling(), rounds: 15)

for comparison in conditions() {
    try measure(comparison, rounds: 15)
}

for comparison in waitsForHolders() {
    try measure(comparison, rounds: 9)
}

// More on one thread, whose target is the narrower one.
for (threads, rounds) in [(1, 60), (2, 15)] {
    for comparison in agreement(threads: threads) {
        try measure(comparison, rounds: rounds)
    }
}
for comparison in agreementAboveNoLock() + agreementOfLab() {
    try measure(comparison, rounds: 30)
}

for comparison in [
    snapshotReads(threads: 1, atMost: 3),
    snapshotReads(threads: 8, atMost: 2),
    anyAccess(operations: 200_000),
    actorOfOneTask(operations: 5_000),
] {
    try measure(comparison, rounds: 15)
}

try measureThreadsComeAndGone(4_000)
