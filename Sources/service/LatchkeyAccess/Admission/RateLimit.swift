internal import CLatchkeySystem
package import LatchkeyHTTP
package import LatchkeyMetrics
internal import LatchkeyStrategies

/// The limit on the requests that each client may send in a time.
///
/// **Design.** The generic cell rate algorithm (ITU-T I.371, appendix I): for each client one time
/// is kept, at which all its requests so far would have been due at the rate. A request is too
/// early if that time is further ahead than the burst. So a client that keeps to the rate is never
/// refused, and in any time `t` at most `burst + rate × t` requests are served. A client whose time
/// has passed is like a new one, and is forgotten when there are many. Clients beyond the limit are
/// served without being counted: else a client with very many addresses would keep others out.
package struct RateLimit: Sendable {
    private struct Stripe {
        private var due: [ClientKey: UInt64] = [:]
        private var nextSweep: UInt64 = 0

        /// When all requests of the client so far are due; the past if there are none.
        func due(_ client: ClientKey) -> UInt64 { due[client] ?? 0 }

        mutating func set(_ client: ClientKey, due time: UInt64, _ now: UInt64) {
            if due.count >= RateLimit.clientCountMax / RateLimit.stripeCount, due[client] == nil {
                guard now >= nextSweep else { return }
                nextSweep = now + RateLimit.sweepNanoseconds
                due = due.filter { $0.value > now }
                guard due.count < RateLimit.clientCountMax / RateLimit.stripeCount else { return }
            }
            due[client] = time
        }
    }

    package static let clientCountMax = 1 << 18
    private static let stripeCount = 64
    /// The minimum time between two searches of a stripe that stays full.
    private static let sweepNanoseconds: UInt64 = 1_000_000_000
    private static let family = MetricFamily(
        "latchkey_rate_exceeded_total",
        .counter,
        help: "Requests beyond --rate, which were refused unless --rate-mode is count."
    )

    private let interval: UInt64
    private let tolerance: UInt64
    private let refuses: Bool
    private let exceeded: Counter
    private let stripes: Striped<Stripe, AdaptiveStrategy>
    private let clock: @Sendable () -> UInt64

    /// Nil if there is no limit.
    package init?(
        _ settings: RateSettings,
        _ registry: MetricRegistry,
        clock: @escaping @Sendable () -> UInt64 = { latchkey_system_nanoseconds() }
    ) {
        guard let rate = settings.rate else { return nil }
        interval = 1_000_000_000 / UInt64(rate)
        tolerance = interval * UInt64(max(1, settings.burst ?? rate) - 1)
        refuses = settings.mode == .refuse
        exceeded = registry.counter(Self.family)
        stripes = Striped(count: Self.stripeCount) { _ in Stripe() }
        self.clock = clock
    }

    /// Counts a request.
    ///
    /// - Returns: The nanoseconds after which the client may send it; nil if it may now.
    package func take(_ client: ClientKey) -> UInt64? {
        let now = clock()
        let early = stripes.write(key: client) { stripe -> UInt64 in
            let due = max(stripe.due(client), now)
            guard due - now <= tolerance else { return due - now - tolerance }
            stripe.set(client, due: due + interval, now)
            return 0
        }
        guard early > 0 else { return nil }
        exceeded.add()
        return refuses ? early : nil
    }
}
