-- ThreadScope's thread ring as a line: threads that take a number from an MVar, add 1 and put it into the next.
-- With two segments the threads of each are placed on a capability of their own (forkOn), as in the case study.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.Word (Word64)
import GHC.Clock (getMonotonicTimeNSec)
import System.Environment (getArgs)
import System.Exit (die)

main :: IO ()
main = do
  options <- pairs <$> getArgs
  let params = map cut (split ',' (option options "--params" ""))
      param name = maybe 0 read (lookup name params) :: Int
      number name otherwise' = read (option options name otherwise') :: Int
  setNumCapabilities (number "--workers" "1")
  let (stages, messages, segments) = (param "stages", param "messages", param "segments")
      operations = fromIntegral (stages * messages) :: Double
      body = line stages messages segments
  checksum <- body
  calls <- calibrate checksum body (fromIntegral (number "--run-ns" "20000000")) 1
  replicateM_ (number "--samples" "3") $ do
    ns <- timed checksum body calls
    let figure = fromIntegral ns / (fromIntegral calls * operations) :: Double
    putStrLn ("{\"ns_per_op\":" ++ show figure ++ ",\"checksum\":\"" ++ show checksum ++ "\",\"extra\":{}}")

line :: Int -> Int -> Int -> IO Word64
line stages messages segments = do
  first <- newEmptyMVar
  lastOne <- foldM stage first [0 .. stages - 1]
  _ <- forkIO (mapM_ (putMVar first . fromIntegral) [0 .. messages - 1])
  collect lastOne messages 0
  where
    stage left place = do
      right <- newEmptyMVar
      let fork = if segments == 0 then forkIO else forkOn (place * segments `div` stages)
      _ <- fork (replicateM_ messages (takeMVar left >>= \n -> putMVar right $! n + 1))
      pure right
    collect _ 0 total = pure total
    collect from left total = do
      n <- takeMVar from
      let total' = total + n
      total' `seq` collect from (left - 1) total'

calibrate :: Word64 -> IO Word64 -> Word64 -> Int -> IO Int
calibrate checksum body least calls = do
  ns <- timed checksum body calls
  if ns < least then calibrate checksum body least (2 * calls) else pure calls

timed :: Word64 -> IO Word64 -> Int -> IO Word64
timed checksum body calls = do
  start <- getMonotonicTimeNSec
  replicateM_ calls $ do
    got <- body
    when (got /= checksum) (die ("the checksum was " ++ show checksum ++ ", then " ++ show got))
  subtract start <$> getMonotonicTimeNSec

pairs :: [String] -> [(String, String)]
pairs (name : value : rest) = (name, value) : pairs rest
pairs _ = []

option :: [(String, String)] -> String -> String -> String
option options name otherwise' = maybe otherwise' id (lookup name options)

split :: Char -> String -> [String]
split at text = case break (== at) text of
  (part, _ : rest) -> part : split at rest
  (part, []) -> [part | not (null part)]

cut :: String -> (String, String)
cut part = let (name, value) = break (== '=') part in (name, drop 1 value)
