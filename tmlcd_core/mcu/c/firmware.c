/* The program on the board. */
#include "board_io.h"
#include "stream.h"

int main(void)
{
    tml_run_stream(board_read, board_write);
    board_stop();
    for (;;) {
    }
}
