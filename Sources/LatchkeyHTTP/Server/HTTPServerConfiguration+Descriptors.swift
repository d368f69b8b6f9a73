import CLatchkeyHTTP

extension HTTPServerConfiguration {
    /// How many file descriptors the server has open at most.
    ///
    /// With too few of them connections are neither served nor refused, and event loops spin.
    package var descriptorsMax: Int {
        // The listener, and the socket pair that takes its place in a drain.
        let fixed = 3
        let perThread =
            switch threads {
            // An epoll set, a way to be woken, and a connection that is closed at once.
            case .eventLoops(let count): 3 * count
            case .perConnection: 2
            }
        return connectionsMax + Int(LATCHKEY_HTTP_REFUSALS_MAX) + fixed + perThread
    }
}
