import LatchkeyContention
import LatchkeySync

// What metering adds to an uncontended write: the same loop through a strategy that is metered,
// less the one through the strategy alone.

/// `Synchronized.write`, metered.
struct MeteredWrite: StrategyVisitor {
    let operations: Int
    let level: MeteringLevel

    func visit<Guard: NamedStrategy>(_ strategy: Guard.Type) -> Contender {
        let meter = ContentionMeter(strategy, level: level)
        let counter = Synchronized(0, strategy: meter.metered(Guard()))
        return Contender(name: name(strategy)) { [operations] in
            submitting(operations) { (completion) throws(BacklogFull) in
                try counter.submitWrite({ $0 &+= 1 }, completion: completion)
            }
        }
    }

    func visitBlocking<Guard: NamedStrategy & BlockingStrategy>(
        _ strategy: Guard.Type
    ) -> Contender {
        let meter = ContentionMeter(strategy, level: level)
        let counter = Synchronized(0, strategy: meter.metered(Guard()))
        return Contender(name: name(strategy)) { [operations] in
            nanoseconds(for: operations) {
                for _ in 0..<operations {
                    counter.write { $0 &+= 1 }
                }
            }
        }
    }

    private func name<Guard: NamedStrategy>(_ strategy: Guard.Type) -> String {
        "Synchronized.write, \(Guard.name), \(level.rawValue)"
    }
}

/// One row for a strategy: `sampled`, the default, less `off`.
func meteringAdds(_ kind: StrategyKind, operations: Int) -> Comparison {
    let operations = max(1000, operations / 20)
    return Comparison(
        measure: "uncontended Synchronized.write, \(kind.rawValue), metering sampled − off",
        figure: .addedNanoseconds(atMost: 5),
        subject: undisturbed(kind.accept(MeteredWrite(operations: operations, level: .sampled))),
        reference: undisturbed(kind.accept(UncontendedWrite(operations: operations)))
    )
}

/// The cheapest of several short runs, which is the one that other work on the machine left
/// alone: a difference of a few nanoseconds drowns in the mean of a long one.
private func undisturbed(_ contender: Contender) -> Contender {
    Contender(name: contender.name) {
        (0..<20).map { _ in contender.nanosecondsPerOperation() }.min() ?? .nan
    }
}
