internal import Foundation

/// A folder that goes away with the value.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// Makes a folder, in memory if that is wanted and the system has a place for it.
    package init(inMemory: Bool = false) throws {
        let memory = URL(filePath: "/dev/shm")
        let isInMemory = inMemory && FileManager.default.isWritableFile(atPath: memory.path())
        let url = (isInMemory ? memory : FileManager.default.temporaryDirectory)
            .appending(path: "latchkey-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path()
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

extension TemporaryFolder {
    /// Writes a certificate and its key, and returns the flags that name the files.
    package func tlsFlags(_ certificate: TestCertificate) throws -> [String] {
        try write(certificate)
        return ["--tls-certificate", path + "/certificate.pem", "--tls-key", path + "/key.pem"]
    }

    package func write(_ certificate: TestCertificate) throws {
        try write("certificate.pem", certificate.certificate)
        try write("key.pem", certificate.key)
    }

    package func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }
}
