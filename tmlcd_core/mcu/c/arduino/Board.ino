/* The board answers `tmlcd board --port PORT`: features or sound come over the USB connector. */
#include <TmlcdBoard.h>

TmlcdBoard board;

void setup()
{
    Serial.begin(115200);
#ifdef LED_BUILTIN
    pinMode(LED_BUILTIN, OUTPUT); /* on after an alarm */
#endif
    board.begin(Serial);
}

void loop()
{
    board.poll();
}
