internal import CLatchkeySystem
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The properties, prefixes and tokens with the most requests in the last one to two minutes.
///
/// **Design.** One request in ``samplingMean`` is counted, which its identifier chooses at random;
/// the others pay for a look at the identifier. A window of a minute has a ``SpaceSaving`` each for
/// names, prefixes and tokens; that of the minute before is kept, and an answer adds both. The lock
/// guards them, and is held for the count of one request, or for the copy of both windows.
///
/// The count of a name is too high by at most 1/``nameCountMax`` of all, as SpaceSaving says.
/// Because of the sampling, a count of n sampled requests is off by √n on average: a name with a
/// tenth of 10,000 requests a second has about 940 samples in a minute, and an error of 3 %.
///
/// The name in a refused request is not counted, so a client cannot show others a name that it may
/// not use. A request that names no property in its path, such as a transaction, counts for its
/// token only.
package final class Traffic: Sendable {
    /// How many requests there are for each one that is counted: a power of two.
    package static let samplingMean = 64
    /// How many names, and how many prefixes, can be told apart.
    package static let nameCountMax = 256
    /// How many tokens can be told apart.
    package static let tokenCountMax = 64
    /// How many of each are shown.
    package static let shownCountMax = 10
    package static let windowSeconds = 60

    private struct Counts {
        var total: UInt64 = 0
        var names = SpaceSaving<[UInt8]>(capacity: Traffic.nameCountMax)
        var prefixes = SpaceSaving<[UInt8]>(capacity: Traffic.nameCountMax)
        var tokens = SpaceSaving<String>(capacity: Traffic.tokenCountMax)
    }

    private struct Windows {
        /// When `now` begins, in nanoseconds.
        var begin: UInt64
        var now = Counts()
        /// Nil if it would be from before the start.
        var before: Counts?

        mutating func turn(at time: UInt64) {
            let length = UInt64(Traffic.windowSeconds) * 1_000_000_000
            let passed = time - min(begin, time)
            guard passed >= length else { return }
            before = passed < 2 * length ? now : Counts()
            begin = passed < 2 * length ? begin + length : time
            now = Counts()
        }
    }

    /// A text that requests name, and their rate.
    package struct Share: Sendable, Equatable {
        package let text: String
        package let perSecond: Double
        /// At most this part of `perSecond` belongs to others.
        package let errorPerSecond: Double
    }

    /// The figures that one caller may see.
    package struct Reading: Sendable, Equatable {
        /// The length of the time that the figures cover.
        package var seconds: Double
        package var perSecond: Double
        /// The most frequent first.
        package var names: [Share]
        package var prefixes: [Share]
        /// Nil if the caller may not see tokens.
        package var tokens: [Share]?
    }

    private let windows: Guarded<Windows>
    private let clock: @Sendable () -> UInt64

    package init(clock: @escaping @Sendable () -> UInt64 = { latchkey_system_nanoseconds() }) {
        self.clock = clock
        windows = Guarded(Windows(begin: clock()))
    }

    /// Counts a request that is not answered yet.
    ///
    /// - Parameters:
    ///   - request: A request that was chosen.
    ///   - status: The status of its answer.
    ///   - namesProperty: Whether its path has the name of a property.
    @inline(never)
    func note(_ request: ServiceRequest, _ status: HTTPStatus, namesProperty: Bool) {
        let name = namesProperty && status.isAboutName ? NamePath.name(request.exchange.path) : nil
        note(name, token: request.caller.name)
    }

    /// Counts a request with this name and token.
    func note(_ name: [UInt8]?, token: String?) {
        let time = clock()
        let prefix = name.flatMap { name in
            name.lastIndex(of: UInt8(ascii: "/")).map { Array(name[...$0]) }
        }
        windows.write { windows in
            windows.turn(at: time)
            windows.now.total += 1
            if let name { windows.now.names.add(name) }
            if let prefix { windows.now.prefixes.add(prefix) }
            if let token { windows.now.tokens.add(token) }
        }
    }

    /// The figures that this caller may see.
    ///
    /// A caller sees names and prefixes that it may read, and tokens only with the right `admin`.
    package func reading(for caller: Caller) -> Reading {
        let time = clock()
        let windows = windows.write { windows in
            windows.turn(at: time)
            return windows
        }
        let (now, before) = (windows.now, windows.before)
        let beforeSeconds = before == nil ? 0 : Double(Self.windowSeconds)
        let seconds = max(1e-3, Double(time - min(windows.begin, time)) / 1e9 + beforeSeconds)
        func perSecond(_ count: UInt64) -> Double {
            Double(count) * Double(Self.samplingMean) / seconds
        }
        func shares<Element>(
            _ entries: [SpaceSaving<Element>.Entry],
            _ text: (Element) -> String?
        ) -> [Share] {
            Array(
                entries.compactMap { entry in
                    text(entry.element).map { text in
                        Share(
                            text: text,
                            perSecond: perSecond(entry.count),
                            errorPerSecond: perSecond(entry.error)
                        )
                    }
                }.prefix(Self.shownCountMax)
            )
        }
        func readable(_ bytes: [UInt8]) -> String? {
            caller.allows(.read, prefix: bytes) ? String(decoding: bytes, as: UTF8.self) : nil
        }
        return Reading(
            seconds: seconds,
            perSecond: perSecond(now.total + (before?.total ?? 0)),
            names: shares(now.names.entries(with: before?.names), readable),
            prefixes: shares(now.prefixes.entries(with: before?.prefixes), readable),
            tokens: caller.allows(.admin)
                ? shares(now.tokens.entries(with: before?.tokens)) { $0 } : nil
        )
    }
}

extension HTTPStatus {
    /// Whether the name that the client has sent is valid, and the client may use it.
    fileprivate var isAboutName: Bool {
        switch rawValue {
        case 400, 401, 403, 421, 429: false
        default: true
        }
    }
}
