package import LatchkeyMetrics
package import LatchkeyStore
internal import LatchkeyStrategies

/// The limits that can be reached while the service runs: the only list of them.
///
/// A limit has the name of the flag that sets it, or of the constant. Limits of one request, such
/// as --max-body-bytes, and shares of one client are not here: no other client sees them. The code
/// that makes a part adds its limits.
///
/// **Design.** The lock is held for the look at the list; the amounts in use are read without it.
package final class ServiceBounds: Sendable {
    /// The effect of a reached limit.
    package enum Effect: String, Encodable, Sendable {
        /// New entries are refused.
        case refuses
        /// The oldest or least used entries are forgotten. It is normal to be at such a limit.
        case forgets
    }

    /// A limit, and how much of it is in use now.
    package struct Reading: Encodable, Equatable {
        /// The flag, without its leading hyphens, or the constant.
        package let name: String
        /// The prefix of names, for a quota.
        package let prefix: String?
        package let effect: Effect
        package let limit: Int
        package let used: Int

        package init(
            name: String,
            prefix: String? = nil,
            effect: Effect,
            limit: Int,
            used: Int
        ) {
            self.name = name
            self.prefix = prefix
            self.effect = effect
            self.limit = limit
            // Counts that change meanwhile can be below 0 for a moment.
            self.used = max(0, used)
        }

        /// The part of the limit that is in use; 1 is the limit.
        package var share: Double {
            limit > 0 ? Double(used) / Double(limit) : used > 0 ? 1 : 0
        }
    }

    private static let used = MetricFamily(
        "latchkey_bound_used",
        .gauge,
        help: "How much of a limit is in use, in its unit. Its label is a flag, or a constant."
    )
    private static let limit = MetricFamily(
        "latchkey_bound_limit",
        .gauge,
        help: "The limit. At it, the service refuses what is new, or forgets what is old."
    )

    private let bounds = Guarded<[@Sendable () -> [Reading]]>([])

    /// Adds the limits to the metrics of a registry.
    package init(_ registry: MetricRegistry) {
        registry.collect([Self.used, Self.limit]) { [bounds] writer in
            let rows = Self.readings(of: bounds).map { ($0.labels, $0) }
            writer.begin(Self.used)
            for (label, now) in rows { writer.sample(label, UInt64(clamping: now.used)) }
            writer.begin(Self.limit)
            for (label, now) in rows { writer.sample(label, UInt64(clamping: now.limit)) }
        }
    }

    /// Adds a limit.
    ///
    /// - Parameters:
    ///   - name: The flag, without its leading hyphens, or the constant.
    ///   - limit: The limit.
    ///   - effect: The effect of reaching it.
    ///   - used: How much is in use; nil if there is nothing of the kind now.
    package func add(
        _ name: String,
        _ limit: Int,
        _ effect: Effect = .refuses,
        used: @escaping @Sendable () -> Int?
    ) {
        add {
            used().map { [Reading(name: name, effect: effect, limit: limit, used: $0)] } ?? []
        }
    }

    /// Adds the limits of the quotas.
    package func add(quotas: @escaping @Sendable () -> [QuotaUsage]) {
        add {
            quotas().map { usage in
                Reading(
                    name: "quota",
                    prefix: usage.quota.text,
                    effect: .refuses,
                    limit: usage.quota.byteCountMax,
                    used: usage.byteCount
                )
            }
        }
    }

    private func add(_ readings: @escaping @Sendable () -> [Reading]) {
        bounds.write { $0.append(readings) }
    }

    /// All limits, always in the same order.
    package var readings: [Reading] { Self.readings(of: bounds) }

    private static func readings(
        of bounds: Guarded<[@Sendable () -> [Reading]]>
    ) -> [Reading] {
        bounds.read { $0 }.flatMap { $0() }
    }
}

extension ServiceBounds.Reading {
    fileprivate var labels: Labels {
        let pairs = [(name: "bound", value: name), (name: "effect", value: effect.rawValue)]
        return Labels(pairs + (prefix.map { [(name: "prefix", value: $0)] } ?? []))
    }
}
