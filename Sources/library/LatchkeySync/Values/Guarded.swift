/// A value behind the lock that we recommend until you have measured.
///
/// ```swift
/// let scores = Guarded<[String: Int]>([:])
/// scores.write { $0["ada", default: 0] += 1 }
/// ```
///
/// The lock is `adaptive`: without contention one atomic operation each way, under contention a
/// bounded spin and then sleep, with more threads than processors no collapse. It takes one
/// allocation with the value. Another strategy is another name in the type, and nothing else.
public typealias Guarded<Value: ~Copyable> = Synchronized<Value, AdaptiveStrategy>
