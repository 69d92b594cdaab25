// Entries of a selection: a key, and the index along the axis, which makes every order total. KEY64: keys of two words,
// the high word in y.
#if KEY64
#define KEY uvec2
#define KEY_WORDS 2u
bool key_less(uvec2 a, uvec2 b) { return a.y != b.y ? a.y < b.y : a.x < b.x; }
const uvec2 LAST_KEY = uvec2(0xffffffffu);
#else
#define KEY uint
#define KEY_WORDS 1u
bool key_less(uint a, uint b) { return a < b; }
const uint LAST_KEY = 0xffffffffu;
#endif
#define ENTRY_WORDS (KEY_WORDS + 1u)

struct Entry {
    KEY key;
    uint place;
};

bool entry_less(Entry a, Entry b) { return a.key != b.key ? key_less(a.key, b.key) : a.place < b.place; }
