package h2_test

import (
	"context"
	"fmt"
	"net"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/drivers/etcd/internal/h2"
)

type store struct{ pb.UnimplementedKVServer }

func (store) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Count: 42}, nil
}

func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := grpc.NewServer()
	pb.RegisterKVServer(server, store{})
	go server.Serve(l)
	defer server.Stop()

	socket, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	conn := h2.New(socket, "localhost")
	defer conn.Close()
	resp := new(pb.RangeResponse)
	err = conn.Call(context.Background(), pb.KV_Range_FullMethodName, &pb.RangeRequest{Key: []byte("k")}, resp)
	fmt.Println(resp.Count, err)
	// Output: 42 <nil>
}
