internal import LatchkeyMachine
internal import LatchkeySettings

/// Sends the requests of a client, and has the clock for their time limits.
///
/// A ``ServiceConnection``, or the script of a test.
package protocol ClientTransport: AnyObject {
    /// The scheme, the host and the port.
    var origin: String { get }
    /// Whether a token is sent.
    var hasToken: Bool { get }
    /// The maximum time of a request without a time of its own.
    var timeLimit: Duration { get }
    /// In nanoseconds.
    var now: UInt64 { get }

    /// Waits until a time, or until the caller says that it is enough.
    func pause(until time: UInt64, isCancelled: () -> Bool)

    /// As ``ServiceConnection/send(_:isCancelled:)``.
    func send(
        _ request: ClientRequest,
        isCancelled: () -> Bool
    ) throws(ConnectionFailure) -> ClientAnswer

    /// As ``ServiceConnection/stream(_:type:isCancelled:take:)``.
    func stream(
        _ request: ClientRequest,
        type: String?,
        isCancelled: () -> Bool,
        take: (UnsafeRawBufferPointer) -> Bool
    ) throws(ConnectionFailure) -> ClientAnswer
}

extension Duration {
    /// Not below 0.
    var nanoseconds: UInt64 { UInt64(max(0, wholeNanoseconds)) }
}
