"""Raddle from Python by ctypes: functions of Python as threads of Raddle, and threads of Python at its channels."""
import ctypes
import signal
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

signal.alarm(240)
lib = ctypes.CDLL(sys.argv[1])
FN = ctypes.CFUNCTYPE(c_void_p, c_void_p)
BODY = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
FOREVER = -1
for name, arguments in {
    "raddle_spawn": [POINTER(c_void_p), FN, c_void_p],
    "raddle_join": [c_void_p, POINTER(c_void_p)],
    "raddle_both": [FN, c_void_p, FN, c_void_p],
    "raddle_channel": [c_int64, POINTER(c_void_p), POINTER(c_void_p)],
    "raddle_send": [c_void_p, c_size_t],
    "raddle_recv": [c_void_p, POINTER(c_size_t)],
    "raddle_tx_close": [c_void_p],
    "raddle_rx_close": [c_void_p],
    "raddle_channel_bytes": [c_int64, POINTER(c_void_p), POINTER(c_void_p)],
    "raddle_send_bytes": [c_void_p, c_char_p, c_size_t, c_int64],
    "raddle_recv_bytes": [c_void_p, POINTER(c_void_p), POINTER(c_size_t), c_int64],
    "raddle_mutex_create": [c_int, POINTER(c_void_p)],
    "raddle_mutex_lock": [c_void_p],
    "raddle_mutex_unlock": [c_void_p],
    "raddle_mutex_destroy": [c_void_p],
    "raddle_var_create": [c_size_t, POINTER(c_void_p)],
    "raddle_var_load": [c_void_p, POINTER(c_size_t)],
    "raddle_var_destroy": [c_void_p],
    "raddle_atomically": [BODY, c_void_p],
    "raddle_stm_read": [c_void_p, c_void_p, POINTER(c_size_t)],
    "raddle_stm_write": [c_void_p, c_void_p, c_size_t],
    "raddle_stm_retry": [c_void_p],
    "raddle_yield": [],
    "raddle_counter": [c_void_p, c_char_p, POINTER(c_uint64)],
}.items():
    getattr(lib, name).argtypes = arguments
lib.raddle_id.restype = c_uint64
lib.raddle_strerror.restype = c_char_p
libc = ctypes.CDLL(None)
libc.free.argtypes = [c_void_p]


def ok(code):
    assert code == 0, lib.raddle_strerror(code)


def threads_of_raddle():
    mutex, seen, local = c_void_p(), [], threading.local()
    ok(lib.raddle_mutex_create(0, byref(mutex)))

    @FN
    def body(argument):
        number = argument or 0
        assert lib.raddle_id() != 0 and not hasattr(local, "number")
        local.number = number
        for _ in range(3):
            ok(lib.raddle_mutex_lock(mutex))
            seen.append(number)
            ok(lib.raddle_yield())  # others run Python meanwhile
            ok(lib.raddle_mutex_unlock(mutex))
            assert local.number == number
        return number + 1

    handles = [c_void_p() for _ in range(12)]
    for number, handle in enumerate(handles):
        ok(lib.raddle_spawn(byref(handle), body, number))
    for number, handle in enumerate(handles):
        result = c_void_p()
        ok(lib.raddle_join(handle, byref(result)))
        assert result.value == number + 1
    assert sorted(seen) == sorted(list(range(12)) * 3)
    ok(lib.raddle_mutex_destroy(mutex))


def threads_of_python():
    tx, rx = c_void_p(), c_void_p()
    ok(lib.raddle_channel(2, byref(tx), byref(rx)))

    def send():
        for word in range(100):
            ok(lib.raddle_send(tx, word))

    senders = [threading.Thread(target=send) for _ in range(3)]
    for sender in senders:
        sender.start()
    total, word = 0, c_size_t()
    for _ in range(300):
        ok(lib.raddle_recv(rx, byref(word)))
        total += word.value
    for sender in senders:
        sender.join()
    assert total == 3 * 4950
    ok(lib.raddle_tx_close(tx))
    assert lib.raddle_recv(rx, byref(word)) == 6, "closed"
    ok(lib.raddle_rx_close(rx))


def messages():
    tx, rx = c_void_p(), c_void_p()
    ok(lib.raddle_channel_bytes(-1, byref(tx), byref(rx)))
    ok(lib.raddle_send_bytes(tx, b"from Python", 11, FOREVER))
    data, size = c_void_p(), c_size_t()
    ok(lib.raddle_recv_bytes(rx, byref(data), byref(size), FOREVER))
    assert ctypes.string_at(data, size.value) == b"from Python"
    libc.free(data)
    ok(lib.raddle_tx_close(tx))
    ok(lib.raddle_rx_close(rx))


def forks():
    done = []
    one, two = FN(lambda _: done.append(1)), FN(lambda _: done.append(2))
    ok(lib.raddle_both(one, None, two, None))
    assert sorted(done) == [1, 2]


def transactions():
    var, number = c_void_p(), c_size_t()
    ok(lib.raddle_var_create(0, byref(var)))

    @BODY
    def add(stm, _):
        word = c_size_t()
        code = lib.raddle_stm_read(stm, var, byref(word))
        return code or lib.raddle_stm_write(stm, var, word.value + 1)

    @BODY
    def is_full(stm, _):
        word = c_size_t()
        code = lib.raddle_stm_read(stm, var, byref(word))
        return code or (0 if word.value == 60 else lib.raddle_stm_retry(stm))

    def adds():
        for _ in range(20):
            ok(lib.raddle_atomically(add, None))

    adders = [threading.Thread(target=adds) for _ in range(3)]
    for adder in adders:
        adder.start()
    ok(lib.raddle_atomically(is_full, None))
    for adder in adders:
        adder.join()
    ok(lib.raddle_var_load(var, byref(number)))
    assert number.value == 60
    ok(lib.raddle_var_destroy(var))


threads_of_raddle()
transactions()
threads_of_python()
messages()
forks()
# A worker counts what it has run at the end of a batch, to which the kernel may not have let it come yet.
value = c_uint64()
while value.value == 0:
    ok(lib.raddle_counter(None, b"dispatches", byref(value)))
print("well")
