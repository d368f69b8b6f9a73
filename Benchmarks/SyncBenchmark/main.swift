import LatchkeySync

// The rows of `make bench` that need no server: one line of JSON each, under 30 seconds in all.

#if DEBUG
let isDebugBuild = true
#else
let isDebugBuild = false
#endif
precondition(!isDebugBuild, "A debug build measures nothing: use --configuration release.")

/// The strategies whose uncontended cost is measured: those named as arguments, or all.
let names = CommandLine.arguments.dropFirst()
let kinds = StrategyKind.allCases.filter { names.isEmpty || names.contains($0.rawValue) }

let uncontended = Harness(rounds: 15)
for kind in kinds {
    let isSlow = kind.traits.handsOffFairly && !kind.traits.spins
    let operations = kind == .actor ? 5_000 : isSlow ? 50_000 : 200_000
    print(try uncontended.measure(meteringAdds(kind, operations: operations)).json())
    guard let reference = barePrimitive(of: kind, operations: operations) else {
        continue
    }
    let row = uncontended.measure(
        Comparison(
            measure: "uncontended Synchronized.write, \(kind.rawValue) ÷ bare primitive",
            figure: .costRatio(atMost: 1.05),
            subject: kind.accept(UncontendedWrite(operations: operations)),
            reference: reference
        )
    )
    print(try row.json())
}

let contended = Harness(rounds: 9)
let writes = ContendedWrites(threads: 8, milliseconds: 200)
print(
    try contended.measure(
        Comparison(
            measure: "adaptive increments, 8 threads ÷ lock",
            figure: .throughputRatio(atLeast: 2),
            subject: StrategyKind.adaptive.accept(writes),
            reference: StrategyKind.lock.accept(writes)
        )
    ).json()
)

let reads = ContendedReads(threads: 8, milliseconds: 200)
print(
    try contended.measure(
        Comparison(
            measure: "snapshot reads, 8 threads ÷ lock reads",
            figure: .throughputRatio(atLeast: 3),
            subject: StrategyKind.snapshot.accept(reads),
            reference: StrategyKind.lock.accept(reads)
        )
    ).json()
)
