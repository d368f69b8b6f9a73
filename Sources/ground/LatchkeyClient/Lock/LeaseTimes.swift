/// The times of a lease, in nanoseconds of one clock.
///
/// The service counts the time to live from a moment after the request was sent. The client counts
/// from the request, so the lease ends here first.
package struct LeaseTimes: Sendable, Equatable {
    /// When the request for the lease was sent.
    package let start: UInt64
    package let timeToLive: UInt64

    package init(start: UInt64, timeToLive: UInt64) {
        self.start = start
        self.timeToLive = timeToLive
    }

    /// When the lease is renewed.
    package var renewal: UInt64 { start + timeToLive / 3 }

    /// When the command is asked to end, if the lease was not renewed.
    package var warning: UInt64 { start + timeToLive / 3 * 2 }

    /// When the command is killed: a tenth of the time before the lease is over.
    package var end: UInt64 { start + timeToLive / 10 * 9 }

    /// When the lease is over at the service, at the latest.
    package var over: UInt64 { start + timeToLive }

    /// The maximum time of one request that renews it: so that a second one has time, too.
    package var requestLimit: Duration { .nanoseconds(Int64(timeToLive / 6)) }
}
