/* As much of Arduino as the library uses, for a compiler without it. */
#ifndef ARDUINO_STUB_H
#define ARDUINO_STUB_H
#include <stddef.h>
#include <stdint.h>
#include <string>
#define F_CPU 84000000ul
#define LED_BUILTIN 13
#define OUTPUT 1
#define HIGH 1
#define LOW 0
struct Stream {
    std::string in, out;
    size_t at = 0;
    void begin(unsigned long) {}
    int available() { return static_cast<int>(in.size() - at); }
    int read() { return static_cast<unsigned char>(in[at++]); }
    size_t write(const uint8_t *bytes, size_t count) { out.append(reinterpret_cast<const char *>(bytes), count); return count; }
};
extern Stream Serial;
inline unsigned long micros() { static unsigned long time; return time += 10; }
inline void pinMode(int, int) {}
inline void digitalWrite(int, int) {}
#endif
