/// A value under the lock that we recommend until you have measured.
///
/// ```swift
/// let scores = Guarded<[String: Int]>([:])
/// scores.write { $0["ada", default: 0] += 1 }
/// ```
///
/// The lock is `adaptive`: without contention one atomic operation each way, under contention a
/// limited spin and then sleep, with more threads than processors no collapse. It takes one
/// allocation with the value. To use another strategy, change the name in the type.
public typealias Guarded<Value: ~Copyable> = Synchronized<Value, AdaptiveStrategy>
