public import LatchkeyContention
public import LatchkeySync

/// Meters for the locks of a program, by name.
///
/// ```swift
/// let locks = LockMeters()
/// let sessions = locks.metered("sessions", [String: Int]())
/// sessions.write { $0["ada"] = 1 }
/// print(locks.report)
/// print(locks.prometheus)
/// ```
///
/// A metered value has the access functions that it has without a meter. Its type is
/// ``Synchronized`` of ``Metered``: `Synchronized<[String: Int], Metered<AdaptiveStrategy>>`.
///
/// **Names.** A name is a constant of the program, such as `"sessions"` or `"cache/index"`, never
/// data. It has 1 to 64 characters of `A–Z a–z 0–9 _ - . : /`; any other name stops the program.
/// Locks with the same name and strategy share one meter, as those of all instances of a class do.
/// After ``lockCountMax`` meters, a new name is metered as ``otherName``, so that neither the text
/// nor the memory grows with the number of names.
///
/// **Cost.** An uncontended access takes 5 to 10 ns more, and the clock is read for one in 128.
/// Each meter has about 1.2 kB for each thread that uses it, which a later thread takes over.
/// A meter stays as long as this object or a metered value. The module uses Foundation.
public final class LockMeters: Sendable {
    /// 64 meters.
    ///
    /// A scrape has about 140 lines for each.
    public static let lockCountMax = 64

    /// The name for locks whose own name came after ``lockCountMax`` meters.
    public static let otherName = "other"

    private static let nameLengthMax = 64

    private let level: MeteringLevel
    /// Records who waits for whom, if the program wants that.
    private let profile: ContentionProfile?
    private let meters = Guarded<[ContentionMeter]>([])

    /// Begins without meters.
    ///
    /// - Parameters:
    ///   - level: The metering of each access; not `off`, for which a value needs no meter.
    ///   - profile: Records which places in the code wait for which others; nil for none.
    public init(level: MeteringLevel = .sampled, profile: ContentionProfile? = nil) {
        precondition(level != .off, "A lock that is not metered needs no LockMeters.")
        self.level = level
        self.profile = profile
    }

    /// A value under a metered strategy.
    ///
    /// - Parameters:
    ///   - name: The name of the lock in the report and in the label `lock`.
    ///   - value: The value to begin with.
    ///   - strategy: Guards this value and no other. Any strategy, also one of your own.
    /// - Returns: The value, with all access functions that it has without a meter.
    public func metered<Value: Sendable, Base: Strategy>(
        _ name: String,
        _ value: Value,
        strategy: Base = AdaptiveStrategy()
    ) -> Synchronized<Value, Metered<Base>> {
        Synchronized(value, strategy: self.strategy(name, strategy))
    }

    /// The strategy with a meter, for types that ``metered(_:_:strategy:)`` does not make.
    ///
    /// ```swift
    /// let locks = LockMeters()
    /// let stripes = Striped<[String: Int], Metered<SpinStrategy>>(
    ///     strategy: { locks.strategy("cache", SpinStrategy()) },
    ///     value: { _ in [:] }
    /// )
    /// ```
    public func strategy<Base: Strategy>(_ name: String, _ base: Base) -> Metered<Base> {
        precondition(
            Self.isName(name),
            "A lock's name is 1 to 64 letters, digits and characters of _-.:/"
        )
        return meter(name, type(of: base.erased)).metered(base)
    }

    /// The figures since ``reset()``, or since each meter was made: the lock first for which the
    /// program waited longest.
    ///
    /// Adds up the threads' own counts. It takes no lock that is metered.
    public var report: LockReport {
        LockReport(rows: sorted.map(LockReport.Row.init))
    }

    /// The figures since each meter was made, in Prometheus' text format, version 0.0.4.
    ///
    /// The names and labels are those of the service's `/metrics`, with the label `lock` first and
    /// without `role`. Serve it as `text/plain; version=0.0.4; charset=utf-8`.
    public var prometheus: String { ContentionMeters.text(sorted) }

    /// Starts the report again.
    ///
    /// Prometheus' counters go on, as they must.
    public func reset() {
        for meter in sorted {
            meter.reset()
        }
    }

    private func meter(_ name: String, _ base: any Strategy.Type) -> ContentionMeter {
        meters.write { meters in
            func found(_ name: String) -> ContentionMeter? {
                meters.first { $0.lock == name && $0.strategy == base.name }
            }
            if let meter = found(name) { return meter }
            let name = meters.count < Self.lockCountMax ? name : Self.otherName
            if let meter = found(name) { return meter }
            let meter = ContentionMeter(
                strategy: base.name,
                lock: name,
                traits: base.traits,
                level: level,
                profile: profile
            )
            meters.append(meter)
            return meter
        }
    }

    private var sorted: [ContentionMeter] {
        meters.read { $0 }.sorted {
            ($0.lock ?? "", $0.strategy) < ($1.lock ?? "", $1.strategy)
        }
    }

    private static func isName(_ name: String) -> Bool {
        (1...nameLengthMax).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): true
                case UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                // Also . and /, which stand before the digits, and : after them.
                case UInt8(ascii: "-")...UInt8(ascii: ":"): true
                case UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}
