-- Reads an event log with ghc-events, ThreadScope's own reader, forces every field of every event, and runs that
-- library's state machines of capabilities and threads over them. The group of tests `trace` compiles and runs it.
import GHC.RTS.Events
import GHC.RTS.Events.Analysis
import GHC.RTS.Events.Analysis.Capability
import GHC.RTS.Events.Analysis.Thread
import qualified Data.Map as M
import System.Environment
import System.Exit

main :: IO ()
main = do
  [file] <- getArgs
  read <- readEventLogFromFile file
  case read of
    Left complaint -> putStrLn ("cannot be parsed: " ++ complaint) >> exitWith (ExitFailure 1)
    Right eventLog -> do
      let es = sortEvents (events (dat eventLog))
          onEach = M.toList (M.fromListWith (+) [(evCap e, 1 :: Int) | e <- es])
          forced = sum (map (length . show . evSpec) es)
          broken x = either (const True) (const False) x
          threads = routeM capabilityThreadRunMachine capabilityThreadIndexer (refineM evSpec threadMachine)
          wrong = [ name | (name, bad) <-
                      [ ("runs", any broken (validates capabilityThreadRunMachine es))
                      , ("pools", any broken (validates capabilityThreadPoolMachine es))
                      , ("threads", any broken (validates threads es)) ], bad ]
      putStrLn (show (length es) ++ " events, on each capability " ++ show onEach ++ ", " ++ show forced ++ " characters")
      if null wrong then putStrLn "valid" else putStrLn ("not valid: " ++ show wrong) >> exitWith (ExitFailure 2)
