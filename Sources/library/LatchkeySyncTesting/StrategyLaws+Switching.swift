public import LatchkeySync
internal import Synchronization

// The law of strategies that can be switched.
//
// **Design.** The only thing that threads share, besides the value, is a count, which orders
// nothing.

extension StrategyLaws {
    /// A value whose strategy is switched loses no write, tears none, and lets no thread in beside
    /// a writer.
    ///
    /// Every access switches first, so that others wait at a guard that is left.
    ///
    /// - Parameters:
    ///   - make: Makes a strategy for one value.
    ///   - switchOver: Switches a value's strategy; given how many accesses there were before.
    /// - Returns: A sentence for each way in which the law was broken.
    public static func switchesLoseNothing<ChosenStrategy: BlockingStrategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy,
        _ switchOver: @escaping @Sendable (Synchronized<LawState, ChosenStrategy>, Int) -> Void
    ) -> [Violation] {
        let laws = StrategyLaws(switching: make, switchOver)
        return laws.noUpdateIsLost() + laws.readsAreWhole() + laws.writersExcludeEveryone()
            + laws.readersExcludeWriters() + laws.noWakeUpIsLost() + laws.valuesAreFreed()
    }
}

extension Subject {
    /// Through the blocking access functions, each of which switches first.
    public init<ChosenStrategy: BlockingStrategy>(
        switching synchronized: Synchronized<LawState, ChosenStrategy>,
        _ switchOver: @escaping @Sendable (Synchronized<LawState, ChosenStrategy>, Int) -> Void
    ) {
        let count = Atomic(0)
        let plain = Subject(blocking: synchronized)
        let begins = { @Sendable in
            switchOver(synchronized, count.add(1, ordering: .relaxed).oldValue)
        }
        self.init(
            read: { body in
                begins()
                plain.read(body)
            },
            write: { body in
                begins()
                plain.write(body)
            }
        )
    }
}
