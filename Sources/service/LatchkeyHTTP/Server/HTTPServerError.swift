internal import Glibc

/// Why a server could not be started.
package struct HTTPServerError: Error, Sendable {
    package struct Code: Hashable, Sendable {
        private enum Kind {
            case addressUnknown, addressInUse, accessDenied, configuration, descriptors, system
        }
        private let kind: Kind

        /// The host name has no address.
        package static let addressUnknown = Code(kind: .addressUnknown)
        /// Another process listens there, or the address is not this machine's.
        package static let addressInUse = Code(kind: .addressInUse)
        /// The port needs privileges that this process does not have.
        package static let accessDenied = Code(kind: .accessDenied)
        /// A value of the configuration is out of its bounds.
        package static let configuration = Code(kind: .configuration)
        /// The process may not open as many descriptors as the connections need.
        package static let descriptors = Code(kind: .descriptors)
        /// Something else that the system could not do: see the cause.
        package static let system = Code(kind: .system)
    }

    /// The C call that failed, and its error number.
    package struct Cause: Hashable, Sendable {
        package let call: String
        package let number: Int32

        /// The system's message for the number, such as "Address already in use".
        package var reason: String {
            if call == "getaddrinfo" {
                return unsafe String(cString: gai_strerror(number))
            }
            return unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        }
    }

    package let code: Code
    /// A sentence that says what to do.
    package let message: String
    package let cause: Cause?
}

extension HTTPServerError: CustomStringConvertible {
    package var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause.call): \(cause.reason))"
    }
}
