import Foundation
import LatchkeyStrategies

// A dictionary that several threads count words in, guarded by a strategy that is named on the
// command line: `swift run GuardedDictionary adaptive`. Without a name, several take their turn.

let words = "the quick brown fox jumps over the lazy dog".split(separator: " ").map(String.init)
let threads = 4
let rounds = 20_000

/// Counts words on several threads, with the strategy as a type: nothing is dispatched at run time.
struct WordCount: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> String {
        "has no blocking access functions: use asyncRead and asyncWrite"
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> String {
        let counts = Synchronized<[String: Int], ChosenStrategy>([:])
        let contention = ContentionCounter()
        let observed = counts.observed(by: contention)
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            for round in 0..<rounds {
                let word = words[(thread + round) % words.count]
                observed.write { $0[word, default: 0] += 1 }
            }
        }
        let total = counts.read { $0.values.reduce(0, +) }
        precondition(total == threads * rounds, "An update was lost.")
        return contention.report
    }
}

var kinds: [StrategyKind] = [.lock, .adaptive, .readWriteLock, .serialQueue]
if let name = CommandLine.arguments.dropFirst().first {
    guard let kind = StrategyKind(rawValue: name) else {
        let names = StrategyKind.allCases.map(\.rawValue).joined(separator: ", ")
        print("There is no strategy '\(name)'. There are: \(names).")
        exit(2)
    }
    kinds = [kind]
}
for kind in kinds {
    print("\(kind.rawValue): \(kind.accept(WordCount()))")
}
