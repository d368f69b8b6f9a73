internal import Glibc
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyOperations

/// The process's limit of file descriptors, raised as the configuration needs.
enum DescriptorLimit {
    /// Descriptors for short use: files under `/proc` for metrics, and libdispatch's own.
    private static let reserve = 32
    /// The maximum of open descriptors of an operation that fetches: connections to two addresses
    /// of which the first is taken, two pairs of sockets by which libcurl wakes its threads, and
    /// the sockets or files of the thread that resolves the name.
    private static let operationCount = 8

    /// Raises the soft limit as far as the configuration needs.
    ///
    /// - Returns: nil, or a sentence that says that the limit is too low and what to do.
    static func raise(for configuration: ServiceConfiguration) -> String? {
        let operations = configuration.operationLimits.executingMax
        let admin = configuration.adminPort.map { port in
            AdminServer.configuration(configuration.http, port: port).descriptorsMax
        }
        let others =
            (ProcessReading.openFileCount ?? 3) + reserve + operations * operationCount
            + (admin ?? 0)
        var server = configuration.http
        let needed = server.descriptorsMax + others
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
            limit.rlim_cur < rlim_t(needed)
        else { return nil }
        if limit.rlim_max >= rlim_t(needed) {
            limit.rlim_cur = rlim_t(needed)
            if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
                return nil
            }
        }
        let fitting = (1..<configuration.http.connectionsMax).last { count in
            server.connectionsMax = count
            return server.descriptorsMax + others <= Int(limit.rlim_max)
        }
        return
            "--max-connections \(configuration.http.connectionsMax) needs \(needed) file "
            + "descriptors (\(operations * operationCount) for \(operations) operations at once), "
            + "and the limit (ulimit -Hn) is \(limit.rlim_max): raise it"
            + (fitting.map { ", or give at most --max-connections \($0)" } ?? "")
    }
}
