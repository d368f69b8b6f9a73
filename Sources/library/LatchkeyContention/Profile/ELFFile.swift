import Foundation

/// The symbol tables of a program or library on disk: 64 bits, in this machine's byte order.
///
/// Every number of the file is checked before it is used; a file that contradicts itself has no
/// symbols.
struct ELFFile {
    private struct Section {
        var type: UInt32
        var offset: UInt64
        var size: UInt64
        var link: UInt32
    }

    // The names of the specification (elf(5)).
    private static let loadable: UInt32 = 1  // PT_LOAD
    private static let symbolTables: Set<UInt32> = [2, 11]  // SHT_SYMTAB, SHT_DYNSYM
    private static let function: UInt8 = 2  // STT_FUNC
    private static let symbolSize: UInt64 = 24
    private static let sizeMax = 1 << 32

    private let data: Data
    private var segments: [(offset: UInt64, address: UInt64, size: UInt64)] = []
    private var sections: [Section] = []

    init?(path: String) {
        guard let data = try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped),
            data.count < Self.sizeMax, data.prefix(6) == Data([0x7F, 0x45, 0x4C, 0x46, 2, 1])
        else { return nil }
        self.data = data
        guard let programHeaders: UInt64 = load(32), let sectionHeaders: UInt64 = load(40),
            let programSize: UInt16 = load(54), let programCount: UInt16 = load(56),
            let sectionSize: UInt16 = load(58), let sectionCount: UInt16 = load(60)
        else { return nil }
        for index in 0..<UInt64(programCount) {
            let header = programHeaders &+ index &* UInt64(programSize)
            guard let type: UInt32 = load(header), let offset: UInt64 = load(header &+ 8),
                let address: UInt64 = load(header &+ 16), let size: UInt64 = load(header &+ 32)
            else { return nil }
            if type == Self.loadable {
                segments.append((offset, address, size))
            }
        }
        for index in 0..<UInt64(sectionCount) {
            let header = sectionHeaders &+ index &* UInt64(sectionSize)
            guard let type: UInt32 = load(header &+ 4), let offset: UInt64 = load(header &+ 24),
                let size: UInt64 = load(header &+ 32), let link: UInt32 = load(header &+ 40)
            else { return nil }
            sections.append(Section(type: type, offset: offset, size: size, link: link))
        }
    }

    /// The address that the linker gave to a byte of the file.
    func virtualAddress(ofOffset offset: UInt64) -> UInt64? {
        segments.first { $0.offset <= offset && offset - $0.offset < $0.size }
            .map { offset - $0.offset &+ $0.address }
    }

    /// The names of the functions that contain the addresses.
    func symbols(at addresses: [UInt64]) -> [UInt64: String] {
        let sorted = addresses.sorted()
        var found: [UInt64: String] = [:]
        for section in sections where Self.symbolTables.contains(section.type) {
            guard sections.indices.contains(Int(section.link)) else { continue }
            let names = sections[Int(section.link)]
            for index in 0..<section.size / Self.symbolSize {
                let symbol = section.offset &+ index &* Self.symbolSize
                guard let name: UInt32 = load(symbol), let info: UInt8 = load(symbol &+ 4),
                    let start: UInt64 = load(symbol &+ 8), let size: UInt64 = load(symbol &+ 16)
                else { break }
                guard info & 0xF == Self.function, size > 0 else { continue }
                var place = sorted.partition { $0 >= start }
                while place < sorted.count, sorted[place] - start < size {
                    if found[sorted[place]] == nil {
                        found[sorted[place]] = string(names.offset &+ UInt64(name))
                    }
                    place += 1
                }
            }
        }
        return found
    }

    private func load<Number: FixedWidthInteger & BitwiseCopyable>(
        _ offset: UInt64
    ) -> Number? {
        let size = MemoryLayout<Number>.size
        guard offset <= UInt64(data.count), data.count - Int(offset) >= size else { return nil }
        return unsafe data.withUnsafeBytes {
            unsafe Number(
                littleEndian: $0.loadUnaligned(fromByteOffset: Int(offset), as: Number.self)
            )
        }
    }

    private func string(_ offset: UInt64) -> String? {
        guard offset < UInt64(data.count) else { return nil }
        let bytes = data[Int(offset)...].prefix { $0 != 0 }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt64] {
    /// The first index whose element fulfils the condition, which all later ones fulfil too.
    fileprivate func partition(_ condition: (UInt64) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low
    }
}
