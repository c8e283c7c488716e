#include "protocol.h"

#include "model.h"
#if TML_AUDIO
#include "frontend.h"
#endif

#define OVERHEAD 4                          /* type, sequence, CRC */
#define FRAME (1 + TML_PAYLOAD + OVERHEAD)  /* with the code byte of COBS; below 254, so that one is enough */
#define HEAD 2

enum { UNKNOWN = 1, LENGTH = 2, NO_SAMPLE = 3 };

static uint8_t received[FRAME]; /* encoded, without the zero at the end */
static uint16_t count;          /* bytes in it; FRAME + 1 if there were too many */
static uint8_t answer[FRAME + 1];
static uint16_t answer_size;    /* payload of the answer */
static uint8_t last;            /* sequence number of the last request */
static uint8_t complete;        /* 1 if `sample` holds all features */
static float sample[TML_FEATURES];

static uint16_t checksum(const uint8_t *bytes, uint32_t size)
{
    uint32_t crc = 0xFFFFu;
    for (uint32_t i = 0; i < size; i++) {
        crc ^= (uint32_t)bytes[i] << 8;
        for (uint32_t bit = 0; bit < 8; bit++) {
            crc = crc & 0x8000u ? crc << 1 ^ 0x1021u : crc << 1;
        }
    }
    return (uint16_t)crc;
}

/* -- payloads, little-endian like the core -- */

static void put(const void *bytes, uint32_t size)
{
    const uint8_t *from = bytes;
    for (uint32_t i = 0; i < size && answer_size < TML_PAYLOAD; i++) {
        answer[1 + HEAD + answer_size++] = from[i];
    }
}

static void put8(uint32_t value)
{
    uint8_t byte = (uint8_t)value;
    put(&byte, sizeof byte);
}

static void put16(uint32_t value)
{
    uint16_t half = (uint16_t)value;
    put(&half, sizeof half);
}

static void put32(uint32_t value)
{
    put(&value, sizeof value);
}

static void put_text(const char *text)
{
    for (; *text != '\0'; text++) {
        put(text, 1);
    }
}

static uint32_t get(const uint8_t *bytes, uint32_t size)
{
    uint32_t value = 0;
    while (size-- > 0) {
        value = value << 8 | bytes[size];
    }
    return value;
}

static void copy(void *to, const void *from, uint32_t size)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    for (uint32_t i = 0; i < size; i++) {
        target[i] = source[i];
    }
}

/* -- frames -- */

/* Send a frame with room for the code byte before it and for the CRC behind its payload. */
static void send_frame(uint8_t *frame, uint32_t payload)
{
    uint32_t size = HEAD + payload;
    uint16_t crc = checksum(frame + 1, size);
    frame[1 + size] = (uint8_t)crc;
    frame[2 + size] = (uint8_t)(crc >> 8);
    uint32_t end = 3 + size, code = 0;
    uint8_t encoded[FRAME + 1];
    for (uint32_t i = 1; i < end; i++) { /* each zero becomes the distance to the next one */
        encoded[i] = frame[i];
        if (frame[i] == 0) {
            encoded[code] = (uint8_t)(i - code);
            code = i;
        }
    }
    encoded[code] = (uint8_t)(end - code);
    encoded[end] = 0;
    board_send(encoded, end + 1);
}

static void send_answer(void)
{
    send_frame(answer, answer_size);
}

static void begin(uint8_t type, uint8_t sequence)
{
    answer[1] = type;
    answer[2] = sequence;
    answer_size = 0;
}

static void refuse(uint8_t request, uint32_t reason)
{
    begin('E', answer[2]);
    put8(request);
    put8(reason);
}

/* -- requests -- */

static void put_hello(void)
{
#if TML_AUDIO
    const uint32_t front_end = 1 + TML_FRONT_END, rate = TML_SAMPLE_RATE;
#else
    const uint32_t front_end = 0, rate = 0;
#endif
    put8(TML_PROTOCOL_VERSION);
    put8(tml_get_settings()->learner);
    put8(TML_STORE);
    put8(front_end);
    put16(TML_FEATURES);
    put16(TML_CLASSES);
    put16(TML_CAPACITY);
    put16(TML_PAYLOAD);
    put32(rate);
    put32(TML_MODEL_ID);
    put32(board_clock());
    put32(tml_time());
    put_text(board_name());
}

static void put_features(uint32_t from)
{
    put16(from);
    for (uint32_t i = from; i < TML_FEATURES && answer_size + sizeof(float) <= TML_PAYLOAD; i++) {
        put(&sample[i], sizeof(float));
    }
}

static void take_features(const uint8_t *payload, uint32_t size)
{
    uint32_t from = get(payload, 2), number = (size - 2) / (uint32_t)sizeof(float);
    if (from + number > TML_FEATURES) {
        refuse('x', LENGTH);
        return;
    }
    copy(&sample[from], payload + 2, number * (uint32_t)sizeof(float));
    complete = from + number == TML_FEATURES;
    put16(from + number);
}

#if TML_AUDIO
void tml_link_hear(const int16_t *samples, uint32_t amount)
{
    while (amount > 0) {
        tml_word word;
        uint32_t taken = tml_hear(samples, amount, &word);
        samples += taken;
        amount -= taken;
        if (word.x != 0) {
            uint8_t note[1 + HEAD + 16 + 2] = {0, 'W', 0}; /* not in `answer`, which may have to be repeated */
            copy(sample, word.x, sizeof sample);
            complete = 1;
            int32_t prediction = tml_predict(sample);
            copy(note + 3, &word.start, 4);
            copy(note + 7, &word.stop, 4);
            copy(note + 11, &word.decibels, 4);
            copy(note + 15, &prediction, 4);
            send_frame(note, 16);
        }
    }
}

static void take_sound(const uint8_t *payload, uint32_t size)
{
    int16_t block[TML_PAYLOAD / 2];
    tml_word word = {0, 0, 0, 0.0f};
    copy(block, payload, size);
    uint32_t taken = tml_hear(block, size / 2, &word);
    put16(taken);
    put8(word.x != 0);
    if (word.x != 0) {
        copy(sample, word.x, sizeof sample);
        complete = 1;
        put32(word.start);
        put32(word.stop);
        put(&word.decibels, sizeof word.decibels);
        put32((uint32_t)tml_predict(sample));
    }
}
#endif

static void observe(int32_t label)
{
    board_measure();
    tml_step step = tml_observe(sample, label);
    uint32_t cycles = board_cycles();
    double statistic = 0.0;
#if TML_TESTS
    statistic = tml_statistic();
#endif
    board_learned(sample, label, &step);
    put32((uint32_t)step.prediction);
    put32(step.time);
    put32(step.size);
    put32(step.alarm);
    put32(step.change);
    put32(step.unknown);
    put32(cycles);
    put32(board_stack());
    put(&statistic, sizeof statistic);
}

static void put_memory(uint32_t part, uint32_t from)
{
    tml_part found = {0, 0};
#if TML_LEARNER == TML_TANDEM
    static const float scale[2] = {TML_LOW, TML_LEVELS};
#elif TML_STORE != TML_FLOAT32
    static const float scale[2] = {TML_OFFSET, TML_SCALE};
#else
    static const float scale[2] = {0.0f, 1.0f};
#endif
    const uint8_t *bytes = 0;
    if (part < 16) {
        found = tml_memory(part);
        bytes = found.bytes;
    } else if (part == 16) {
        bytes = (const uint8_t *)scale;
        found.size = sizeof scale;
    }
#if TML_TESTS
    else if (part == 18) {
        static const double constants[3] = {TML_GAP, TML_MARGIN, TML_BINOMIAL ? 0.0 : TML_LOGARITHM};
        bytes = (const uint8_t *)constants;
        found.size = sizeof constants;
    }
#endif
#if TML_LIMITED
    else if (part == 19) {
        static const double limit = (double)TML_FARTHEST;
        bytes = (const uint8_t *)&limit;
        found.size = sizeof limit;
    }
#endif
    else if (part == 20) {
        static const uint32_t keep = TML_KEEP;
        bytes = (const uint8_t *)&keep;
        found.size = sizeof keep;
    }
#if TML_NAMED > 0
    else if (part == 21) {
        bytes = (const uint8_t *)tml_named_x;
        found.size = sizeof tml_named_x;
    }
#endif
#if TML_LEARNER == TML_TANDEM
    else if (part == 17) {
        bytes = (const uint8_t *)tml_mean;
        found.size = sizeof tml_mean;
    }
#endif
    put32(found.size);
    put32(from);
    for (uint32_t i = from; i < found.size && answer_size < TML_PAYLOAD; i++) {
        put(&bytes[i], 1);
    }
}

static int has_length(uint8_t type, uint32_t size)
{
    switch (type) {
    case 'i': case 's': case 'r': case 'p': return size == 0;
    case 'n': case 'f': return size == 2;
    case 'o': case 't': return size == 4;
    case 'm': return size == 5;
    case 'c': return size == sizeof(tml_settings);
    case 'x': return size >= 2 && (size - 2) % sizeof(float) == 0;
    case 'a': return size % 2 == 0;
    default: return 1;
    }
}

static void handle(uint8_t type, const uint8_t *payload, uint32_t size)
{
    if (!has_length(type, size)) {
        refuse(type, LENGTH);
        return;
    }
    if (!complete && (type == 'p' || type == 'o' || type == 't' || type == 'f')) {
        refuse(type, NO_SAMPLE);
        return;
    }
    tml_settings settings;
    switch (type) {
    case 'i':
        put_hello();
        break;
    case 'n':
        put_text(get(payload, 2) < TML_CLASSES ? tml_class_names[get(payload, 2)] : "");
        break;
    case 's':
        put(tml_get_settings(), sizeof settings);
        break;
    case 'c':
        copy(&settings, payload, sizeof settings);
        put8((uint32_t)tml_configure(&settings));
        board_learned(0, TML_UNKNOWN, 0);
        break;
    case 'r':
        tml_reset();
        board_learned(0, TML_UNKNOWN, 0);
        complete = 0;
#if TML_AUDIO
        tml_listen();
#endif
        break;
    case 'x':
        take_features(payload, size);
        break;
#if TML_AUDIO
    case 'a':
        take_sound(payload, size);
        break;
#endif
    case 'f':
        put_features(get(payload, 2));
        break;
    case 'p':
        put32((uint32_t)tml_predict(sample));
        break;
    case 'o':
        observe((int32_t)get(payload, 4));
        break;
    case 't':
        if (tml_teach(sample, (int32_t)get(payload, 4))) {
            board_learned(sample, (int32_t)get(payload, 4), 0);
            put8(1);
        } else {
            put8(0);
        }
        break;
    case 'm':
        put_memory(payload[0], get(payload + 1, 4));
        break;
    default:
        refuse(type, UNKNOWN);
    }
}

/* Undo COBS in place; returns the size of the frame, or 0 if it cannot be one. */
static uint32_t decode(void)
{
    uint32_t code = 0;
    while (code < count) { /* no byte is zero: each code leads on */
        uint32_t next = code + received[code];
        received[code] = 0;
        code = next;
    }
    return code == count && count > OVERHEAD ? count : 0;
}

static void end_of_frame(void)
{
    uint32_t size = count <= FRAME ? decode() : 0;
    if (size == 0) {
        return;
    }
    const uint8_t *frame = received + 1;
    size -= 1 + 2; /* the code byte, the CRC */
    if (checksum(frame, size) != get(frame + size, 2)) {
        return;
    }
    if (frame[1] == 0 || frame[1] != last) {
        last = frame[1];
        begin((uint8_t)(frame[0] - 'a' + 'A'), frame[1]);
        handle(frame[0], frame + HEAD, size - HEAD);
    }
    send_answer();
}

void tml_link_byte(uint8_t byte)
{
    if (byte == 0) {
        end_of_frame();
        count = 0;
    } else if (count < FRAME) {
        received[count++] = byte;
    } else {
        count = FRAME + 1;
    }
}

void tml_link_start(void)
{
    count = 0;
    last = 0;
    complete = 0;
#if TML_AUDIO
    tml_listen();
#endif
    begin('I', 0);
    put_hello();
    send_answer();
}
