import LatchkeyStrategies

// A write through `AnySynchronized`, whose strategy is chosen by name at run time, beside the typed
// one.

/// A row of the table.
func anyAccess(operations: Int) -> Comparison {
    let chosen = AnySynchronized<Int>(0, kind: .adaptive)
    let typed = Synchronized<Int, AdaptiveStrategy>(0)
    guard let blocking = chosen.blocking else {
        preconditionFailure("'adaptive' has blocking access functions.")
    }
    return Comparison(
        measure: "AnySynchronized write, adaptive",
        figure: .nanoseconds(atMost: 25),
        subject: Contender(name: "AnySynchronized.write, adaptive") {
            nanoseconds(for: operations) {
                for _ in 0..<operations {
                    blocking.write { $0 &+= 1 }
                }
            }
        },
        reference: Contender(name: "Synchronized.write, adaptive") {
            nanoseconds(for: operations) {
                for _ in 0..<operations {
                    typed.write { $0 &+= 1 }
                }
            }
        }
    )
}
