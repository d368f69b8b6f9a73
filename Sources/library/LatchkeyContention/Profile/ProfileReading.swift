import CLatchkeySystem
package import Foundation
package import LatchkeySync

/// The record of a profile in a span of time.
package struct ProfileReading: Sendable {
    /// N, if one contended access in N was recorded on average.
    package var interval: Int
    package var started: Date
    /// The length of the span.
    package var nanoseconds: UInt64
    /// The contended accesses that were not recorded, scaled up.
    package var lostCount: UInt64
    package var samples: [ProfileSample]
}

/// The contentions of one pair of places at one lock.
package struct ProfileSample: Sendable {
    package struct Lock: Sendable, Hashable {
        package var name: String?
        package var strategy: String
    }

    /// Where an access was made: its site, and its stack, innermost first.
    package struct Place: Sendable {
        package var site: CallSite
        /// Addresses inside the calls.
        package var addresses: [UInt64]
    }

    package var lock: Lock
    /// The waiter's mode.
    package var mode: AccessMode
    package var holder: Place
    package var waiter: Place
    /// Scaled up.
    package var count: UInt64
    /// Scaled up.
    package var nanoseconds: UInt64
}

extension ProfileSample.Place: Hashable {
    /// Whether it is the same line of the same file, and the same stack.
    package static func == (one: Self, other: Self) -> Bool {
        one.addresses == other.addresses && one.site.line == other.site.line
            && one.site.fileID == other.site.fileID
    }

    /// Without the file, whose name would be made for it.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(addresses)
        hasher.combine(site.line)
    }

    /// The site, and the calling thread's stack.
    init(at site: CallSite, depthMax: Int) {
        let addresses = unsafe [UInt64](unsafeUninitializedCapacity: depthMax) { addresses, count in
            count = unsafe Int(latchkey_system_stack(addresses.baseAddress, UInt32(depthMax)))
        }
        self.init(site: site, addresses: addresses)
    }

    /// The site, or else the innermost function that is not the lock's own, as text.
    func text(_ symbols: Symbols) -> String {
        if site.isKnown { return "\(site.fileID):\(site.line)" }
        return ownFunction(symbols) ?? "(unknown)"
    }

    /// The innermost function that is not the lock's own.
    func ownFunction(_ symbols: Symbols) -> String? {
        relevant(symbols).lazy.compactMap { symbols[$0]?.name }.first
    }

    /// The stack without the frames of the lock itself, which every stack has.
    func relevant(_ symbols: Symbols) -> ArraySlice<UInt64> {
        addresses.drop { symbols[$0]?.isOfLock ?? false }
    }
}

extension ProfileReading {
    /// The pairs of sites, those with the greatest delay first.
    package var sites: [ContentionSite] {
        // Names of functions only where a site is not known.
        let unknown = samples.flatMap { [$0.holder, $0.waiter] }.filter { !$0.site.isKnown }
        let symbols = Symbols(of: unknown.flatMap(\.addresses))
        var sums: [[String?]: ContentionSite] = [:]
        for sample in samples {
            let site = ContentionSite(
                lock: sample.lock.name,
                strategy: sample.lock.strategy,
                holder: sample.holder.text(symbols),
                waiter: sample.waiter.text(symbols),
                count: sample.count,
                delay: .nanoseconds(Int64(clamping: sample.nanoseconds))
            )
            let key = [site.lock, site.strategy, site.holder, site.waiter]
            sums[key]?.count += site.count
            sums[key]?.delay += site.delay
            if sums[key] == nil {
                sums[key] = site
            }
        }
        return sums.values.sorted {
            ($0.delay, $1.holder, $1.waiter) > ($1.delay, $0.holder, $0.waiter)
        }
    }
}
