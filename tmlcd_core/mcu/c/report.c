#include "report.h"

static char *put_text(char *to, const char *end, const char *text)
{
    while (*text != '\0' && to < end) {
        *to++ = *text++;
    }
    return to;
}

static char *put_number(char *to, const char *end, uint32_t number)
{
    char digits[11];
    char *first = &digits[10];
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put_text(to, end, first);
}

void tml_report(const tml_step *step, char line[TML_LINE])
{
    char *end = &line[TML_LINE - 48]; /* the name may be cut, the numbers never */
    char *to = put_number(line, end, step->time);
    to = put_text(to, end, " ");
    const char *name = step->prediction < 0 ? "(refused)" : tml_class_names[step->prediction];
    to = put_text(to, end, step->unknown ? "(unknown)" : name);
    end = &line[TML_LINE - 1];
    to = put_text(to, end, " ");
    to = put_number(to, end, step->size);
    if (step->alarm) {
        to = put_text(to, end, " alarm ");
        to = put_number(to, end, step->change);
    }
    *to = '\0';
}
