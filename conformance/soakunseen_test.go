package conformance_test

// What hides a mistake of a driver from those who use the recipes on it, beside
// what they do not do.
const (
	inCoord lack = "package coord makes sure of it by itself"
	inQueue lack = "package queue makes sure of it by itself"
	noNeed  lack = "the recipes, or the store that stands for all, do not come to need it"
	tooRare lack = "several things have to happen at the same moment, which is seen now and then and not for sure"
)

// exemption is why the soak does not find a mistake: what it lacks, and how that
// hides it.
type exemption struct {
	lack lack
	how  string
}

// unseen are the broken drivers that the soak cannot find for sure, by name. All
// of them fail the suite.
var unseen = map[string]exemption{
	"done-after-the-answer":     {inCoord, "coord ends the holds before it closes a session"},
	"connection-closed-first":   {inCoord, "coord closes the sessions before the connection"},
	"waits-left":                {inCoord, "coord closes the sessions before the connection"},
	"close-waits-for-the-store": {inCoord, "coord does not wait for longer than its ctx"},
	"calls-after-close":         {inCoord, "coord makes no call after Close"},
	"cause-dropped":             {inCoord, "coord adds the error of the ctx"},
	"updates-unseen":            {inCoord, "the next change, which is soon, shows it"},
	"gap-unseen":                {inCoord, "the next change, which is soon, shows it"},
	"missed-while-busy":         {inCoord, "coord is never busy"},
	"one-watch-told":            {inCoord, "coord has only one"},
	"two-readers":               {inCoord, "the latest state follows at once"},
	"older-after-a-reset":       {inCoord, "the latest state follows at once"},
	"replayed-after-silence":    {inCoord, "the latest state follows at once"},
	"empty-while-away":          {inCoord, "the latest state follows at once"},
	"ends-without-an-error":     {inCoord, "it is coord that ends the watch, and knows why"},
	"watch-waits-for-the-link":  {inCoord, "it is coord that ends the watch, and knows why"},
	"watch-drops-the-cause":     {inCoord, "it is coord that ends the watch, and knows why"},
	"watch-deaf-to-close":       {inCoord, "it is coord that ends the watch, and knows why"},
	"closed-says-canceled":      {inCoord, "it is coord that ends the watch, and knows why"},
	"nodes-with-the-error":      {inCoord, "it is coord that ends the watch, and knows why"},
	"goes-on-after-the-error":   {inCoord, "it is coord that ends the watch, and knows why"},
	"busy-consumer-overtaken":   {inCoord, "it is coord that ends the watch, and knows why"},
	"patient-open-session":      {inCoord, "coord does not wait for an opening longer than its ctx, or than a TTL"},

	"data-too-long-taken":       {inQueue, "recipes refuse it first"},
	"nil-for-the-lost":          {inQueue, "the queue asks the session before it grants"},
	"update-moves-the-node":     {inQueue, "the queue keeps the node as it was created"},
	"unfenced-delete":           {inQueue, "the queue deletes nothing whose slot may be used again"},
	"unfenced-update":           {inQueue, "the queue updates nothing whose slot may be used again"},
	"both-kinds":                {inQueue, "whatever is uncertain is taken for that, by whatever it was caused"},
	"lost-reply-unavailable":    {inQueue, "the queue sees the unknown outcome in the cause"},
	"names-with-anybodys-data":  {inQueue, "the queue takes names from such a list and nothing else"},
	"names-without-the-session": {inQueue, "the queue takes names from such a list and nothing else"},
	"never-first":               {inQueue, "the queue lists the line if it is not told that it is its turn"},
	"first-for-ever":            {inQueue, "the queue does not ask again once it was told that it is its turn"},
	"first-by-name":             {inQueue, "the queue does not ask about an entry that it has left"},
	"first-of-nobody":           {inQueue, "the queue hears that its entry is gone before it asks"},
	"wait-says-closed":          {inQueue, "the queue looks at the ctx itself"},
	"list-given-up-is-empty":    {inQueue, "a waiter that is not in the list asks why, and its ctx has ended"},
	"abandon-given-up-is-done":  {inQueue, "the queue abandons under the ctx of the session, which ends with it"},

	"cause-taken-for-own":         {noNeed, "nobody waits for one lock under the context of another"},
	"ttl-lies":                    {noNeed, "recipes take the TTL for pauses only"},
	"ttl-clamped":                 {noNeed, "everybody asks for a TTL that is granted"},
	"ttl-refused-without-range":   {noNeed, "everybody asks for a TTL that is granted"},
	"caps-without-interface":      {noNeed, "nobody requires a capability"},
	"interface-without-caps":      {noNeed, "nobody requires a capability"},
	"caps-without-watch":          {noNeed, "nobody requires a capability"},
	"watch-without-caps":          {noNeed, "nobody requires a capability"},
	"one-ttl-for-all":             {noNeed, "everybody asks for the same TTL"},
	"first-message":               {noNeed, "nobody has so much data"},
	"waits-take-turns":            {noNeed, "nobody waits for so many at a time"},
	"patient-create":              {noNeed, "there is no other server to ask"},
	"patient-create-list":         {noNeed, "there is no other server to ask"},
	"patient-update":              {noNeed, "there is no other server to ask"},
	"patient-delete":              {noNeed, "there is no other server to ask"},
	"patient-abandon":             {noNeed, "there is no other server to ask"},
	"patient-list":                {noNeed, "there is no other server to ask"},
	"created-anew":                {noNeed, "who has lost a reply does not know what place it had"},
	"data-not-copied":             {noNeed, "recipes do not change what they have given away"},
	"last-of-those-together":      {noNeed, "who is in a line that is removed is excused"},
	"slot-unseen":                 {noNeed, "no two entries have the same data"},
	"compaction-unforeseen":       {noNeed, "nobody compacts"},
	"namespace-remembered":        {noNeed, "an operator removes lines and not the namespace"},
	"whole-seconds-told-as-asked": {noNeed, "the TTL is of whole seconds"},
	"whole-seconds-granted":       {noNeed, "the TTL is of whole seconds"},
	"counted-from-any-answer":     {noNeed, "no fault takes the renewals and leaves the other calls"},

	"goroutine-left":                      {noCount, "a goroutine too many is seen by nobody"},
	"nothing-to-abandon":                  {noCount, "it costs a slot, which nobody counts"},
	"watch-left":                          {noCount, "a watch too many is seen by the store alone"},
	"left-loop-goes-on":                   {noCount, "a watch too many is seen by the store alone"},
	"canceled-watch-goes-on":              {noCount, "a watch too many is seen by the store alone"},
	"left-behind-a-frozen-link":           {noCount, "a watch too many is seen by the store alone"},
	"watches-when-called":                 {noCount, "a watch too many is seen by the store alone"},
	"watchman-left":                       {noCount, "a goroutine too many is seen by nobody"},
	"watch-outlives-the-connection":       {noCount, "a goroutine too many is seen by nobody"},
	"goroutine-of-each-reset":             {noCount, "a goroutine too many is seen by nobody"},
	"goroutine-of-each-wait":              {noCount, "a goroutine too many is seen by nobody"},
	"any-watch-left":                      {noCount, "a watch too many is seen by the store alone"},
	"watches-of-the-others-left":          {noCount, "a watch too many is seen by the store alone"},
	"watch-again-at-each-reset":           {noCount, "a watch too many is seen by the store alone"},
	"any-watch-again-at-each-reset":       {noCount, "a watch too many is seen by the store alone"},
	"watched-again-at-each-reset":         {noCount, "a watch too many is seen by the store alone"},
	"watch-left-behind-a-frozen-link":     {noCount, "a watch too many is seen by the store alone"},
	"any-watch-left-behind-a-frozen-link": {noCount, "a watch too many is seen by the store alone"},
	"sets-watch-without-pause":            {noCount, "a request too many is seen by nobody"},

	"opening-counted-from-receipt": {tooRare, "the first renewal mends it"},
	"replaced-silently":            {tooRare, "coord has opened another session by then"},
	"abandon-by-delete":            {tooRare, "the slot is mostly used again before the late request lands"},
	"late-abandon":                 {tooRare, "the slot is mostly used again before the late request lands"},
	"late-update":                  {tooRare, "the entry has to be left and its slot used again while an update is on its way"},
	"late-update-undoes":           {tooRare, "the last value has to be written while an earlier one is on its way"},
	"one-update-remembered":        {tooRare, "two updates have to be on their way when a later one is written"},
	"backlog-overflows":            {tooRare, "so many changes are rare"},
	"torn-list":                    {tooRare, "the line has to change between two requests that follow each other at once"},
	"counted-from-receipt":         {tooRare, "the session has to end in the round trip by which the client is late"},
	"opened-behind-close":          {tooRare, "a session has to be opened in the moment in which its client is closed"},
}
