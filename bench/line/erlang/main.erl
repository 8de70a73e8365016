%% ThreadScope's thread ring as a line: processes that take a number, add 1 and send it on. Erlang's sends do not wait,
%% so its line holds any number of messages at each stage: fewer switches than a rendezvous needs.
-module(main).
-export([main/0]).

main() ->
    Options = pairs(init:get_plain_arguments()),
    Params = [cut(Part) || Part <- string:tokens(maps:get("--params", Options, ""), ",")],
    Param = fun(Name) -> list_to_integer(proplists:get_value(Name, Params)) end,
    Number = fun(Name, Otherwise) -> list_to_integer(maps:get(Name, Options, Otherwise)) end,
    {Stages, Messages} = {Param("stages"), Param("messages")},
    Body = fun() -> line(Stages, Messages) end,
    Checksum = Body(),
    Calls = calibrate(Checksum, Body, Number("--run-ns", "20000000"), 1),
    [sample(timed(Checksum, Body, Calls) / (Calls * Stages * Messages), Checksum)
     || _ <- lists:seq(1, Number("--samples", "3"))],
    halt(0).

sample(Ns, Checksum) ->
    io:format("{\"ns_per_op\":~f,\"checksum\":\"~b\",\"extra\":{}}~n", [Ns, Checksum]).

line(Stages, Messages) ->
    Last = self(),
    First = lists:foldl(fun(_, Right) -> spawn(fun() -> stage(Right, Messages) end) end, Last, lists:seq(1, Stages)),
    spawn(fun() -> [First ! N || N <- lists:seq(0, Messages - 1)] end),
    collect(Messages, 0).

stage(_, 0) -> ok;
stage(Right, Left) ->
    receive N -> Right ! N + 1 end,
    stage(Right, Left - 1).

collect(0, Sum) -> Sum;
collect(Left, Sum) ->
    receive N -> collect(Left - 1, Sum + N) end.

calibrate(Checksum, Body, Least, Calls) ->
    case timed(Checksum, Body, Calls) of
        Ns when Ns < Least -> calibrate(Checksum, Body, Least, 2 * Calls);
        _ -> Calls
    end.

timed(Checksum, Body, Calls) ->
    Start = erlang:monotonic_time(nanosecond),
    [Checksum = Body() || _ <- lists:seq(1, Calls)],
    erlang:monotonic_time(nanosecond) - Start.

pairs([Name, Value | Rest]) -> maps:put(Name, Value, pairs(Rest));
pairs(_) -> #{}.

cut(Part) -> list_to_tuple(string:tokens(Part, "=")).
