package etcd

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// quiet returns the logger for a client: all that it says becomes debug. It
// warns of every request that it repeats, which is the caller's to judge.
func quiet(log *zap.Logger) *zap.Logger {
	return log.Named("client").WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		if !core.Enabled(zapcore.DebugLevel) {
			return zapcore.NewNopCore()
		}
		return demoted{core}
	}))
}

// demoted passes every entry on at level debug.
type demoted struct{ zapcore.Core }

func (d demoted) With(fields []zapcore.Field) zapcore.Core { return demoted{d.Core.With(fields)} }

func (d demoted) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	e.Level = zapcore.DebugLevel
	return d.Core.Check(e, checked)
}
